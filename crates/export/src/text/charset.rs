//! Characters that a terminal can show: all of Unicode, or ASCII in some locales.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::OnceLock;

use crate::TerminalText;

/// Returns `true` if the locale encoding, from the variables LC_ALL, LC_CTYPE and LANG, is not UTF-8. A terminal then
/// shows only ASCII. Without a locale, the encoding is UTF-8.
#[must_use]
pub fn locale_is_ascii() -> bool {
    static IS_ASCII: OnceLock<bool> = OnceLock::new();
    *IS_ASCII.get_or_init(|| {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(value)
            .is_some_and(|locale| is_ascii_locale(&locale))
    })
}

/// Returns `true` if the encoding of a locale name (`language[_territory][.codeset][@modifier]`) is not UTF-8.
/// Without a codeset, the glibc default counts.
fn is_ascii_locale(locale: &str) -> bool {
    // The name can be the path of a compiled locale.
    let name = locale.rsplit('/').next().unwrap_or_default();
    let is_utf8 = |codeset: &str| {
        codeset.chars().filter(char::is_ascii_alphanumeric).collect::<String>().eq_ignore_ascii_case("utf8")
    };
    let known = match name.split_once('.') {
        Some((_, rest)) => is_utf8(rest.split('@').next().unwrap_or_default()),
        // A codeset alone, as on macOS.
        None => is_utf8(name) || UTF8_NAMES.split(' ').any(|known| known == name),
    };
    !known
}

/// Names without a codeset that mean UTF-8 in glibc: languages that were added when UTF-8 was usual. Other names mean
/// an older encoding or are unknown.
const UTF8_NAMES: &str = "\
    aa_ER aa_ER@saaho aa_ET agr_PE ak_GH am_ET anp_IN ar_IN ar_SS as_IN ayc_PE az_AZ az_IR be_BY@latin bem_ZM \
    ber_DZ ber_MA bho_IN bho_NP bi_VU bn_BD bn_IN bo_CN bo_IN brx_IN byn_ER ca_ES@valencia ce_RU chr_US ckb_IQ \
    cmn_TW crh_UA csb_PL cv_RU doi_IN dsb_DE dv_MV dz_BT en_AG en_IL en_IN en_NG en_ZM eo es_CU fa_IR ff_SN \
    fil_PH fur_IT fy_DE fy_NL gez_ER gez_ER@abegede gez_ET gez_ET@abegede gu_IN ha_NG hak_TW hi_IN hif_FJ hne_IN \
    ht_HT hy_AM ia_FR ig_NG ik_CA iu_CA kab_DZ km_KH kn_IN kok_IN ks_IN ks_IN@devanagari ky_KG lb_LU li_BE li_NL \
    lij_IT ln_CD lo_LA lzh_TW mag_IN mai_IN mai_NP mfe_MU mhr_RU miq_NI mjw_IN ml_IN mn_MN mni_IN mnw_MM mr_IN \
    my_MM nan_TW nan_TW@latin nds_DE nds_NL ne_NP nhn_MX niu_NU niu_NZ nl_AW nr_ZA nso_ZA om_ET or_IN os_RU \
    pa_IN pa_PK pap_AW pap_CW ps_AF quz_PE raj_IN rif_MA rw_RW sa_IN sah_RU sat_IN sc_IT sd_IN sd_IN@devanagari \
    se_NO sgs_LT shn_MM shs_CA si_LK sid_ET sm_WS so_ET sq_MK sr_ME sr_RS sr_RS@latin ss_ZA sw_KE sw_TZ syr \
    szl_PL ta_IN ta_LK te_IN the_NP ti_ER ti_ET tig_ER tk_TM tn_ZA to_TO tpi_PG ts_ZA tt_RU tt_RU@iqtelif ug_CN \
    unm_US ur_IN ur_PK uz_UZ@cyrillic ve_ZA vi_VN wae_CH wal_ET wo_SN yo_NG yue_HK yuw_PG";

/// Converts a text to ASCII. Lines, bars and units become similar characters, and other characters are escaped.
#[must_use]
pub fn to_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => shown.push(c),
            '─' | '▏' | '▎' | '▍' => shown.push('-'),
            '│' | '├' | '┤' => shown.push('|'),
            '┌' | '┐' | '┘' | '┬' | '┴' | '┼' => shown.push('+'),
            '└' => shown.push('`'),
            '▌' | '▋' | '▊' | '▉' | '█' | '▇' => shown.push('#'),
            '▁' | '▂' => shown.push('.'),
            '▃' | '▄' => shown.push(':'),
            '▅' | '▆' => shown.push('+'),
            'µ' | 'μ' => shown.push('u'),
            '·' => shown.push('.'),
            '…' => shown.push_str("..."),
            '→' => shown.push_str("->"),
            '×' => shown.push('x'),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Writer to a terminal, in ASCII if the terminal lacks other characters. JSON characters become `\u` and four
/// digits.
#[derive(Debug)]
pub struct CharsetWriter<W> {
    writer: W,
    is_ascii: bool,
    is_json: bool,
    /// First bytes of an incomplete character.
    pending: Vec<u8>,
}

impl<W: Write> CharsetWriter<W> {
    /// Creates a writer to `writer`, in ASCII if `is_ascii`.
    pub fn new(writer: W, text: TerminalText, is_ascii: bool) -> Self {
        Self { writer, is_ascii, is_json: matches!(text, TerminalText::Json), pending: Vec::new() }
    }

    /// Writes the remaining bytes and returns the writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn finish(mut self) -> io::Result<W> {
        let rest = String::from_utf8_lossy(&self.pending).into_owned();
        self.put(&rest)?;
        Ok(self.writer)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        if !self.is_json {
            return self.writer.write_all(to_ascii(text).as_bytes());
        }
        let mut units = [0u16; 2];
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii() {
                escaped.push(c);
            } else {
                c.encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
            }
        }
        self.writer.write_all(escaped.as_bytes())
    }
}

impl<W: Write> Write for CharsetWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_ascii {
            return self.writer.write(bytes);
        }
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        self.pending = all.split_off(all.len() - cut_off(&all));
        self.put(&String::from_utf8_lossy(&all))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Returns the number of last bytes that start an incomplete character, regardless of earlier bytes.
fn cut_off(bytes: &[u8]) -> usize {
    let is_begun = |length: &usize| {
        let end = bytes.len().checked_sub(*length).and_then(|begin| bytes.get(begin..));
        let error = end.and_then(|end| std::str::from_utf8(end).err());
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    // Characters have four bytes at most.
    (1..4).find(is_begun).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales() {
        for locale in [
            "C",
            "POSIX",
            "en_US",
            "de_DE@euro",
            "de_DE.ISO-8859-1",
            "en_US.ISO8859-15",
            "ru_RU.KOI8-R",
            "C.utf-16",
            "en_IN.ISO-8859-1",
            "be_BY",
            "xx_utf8",
            "english",
        ] {
            assert!(is_ascii_locale(locale), "{locale}");
        }
        for locale in [
            "C.UTF-8",
            "C.utf8",
            "en_US.utf8",
            "de_DE.UTF-8@euro",
            "POSIX.UTF-8",
            "UTF-8",
            "/usr/lib/locale/C.utf8",
            "en_IN",
            "hi_IN",
            "vi_VN",
            "be_BY@latin",
            "sr_RS@latin",
        ] {
            assert!(!is_ascii_locale(locale), "{locale}");
        }
    }

    /// The glibc list of locales and encodings, if it is installed.
    #[test]
    fn locales_of_glibc() {
        let Ok(list) = std::fs::read_to_string("/usr/share/i18n/SUPPORTED") else { return };
        for line in list.lines() {
            let Some((name, charset)) = line.split_once(' ').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let is_ascii = is_ascii_locale(name);
            // Versions know different languages.
            if charset != "UTF-8" || name.contains('.') || UTF8_NAMES.split(' ').any(|known| known == name) {
                assert_eq!(is_ascii, charset != "UTF-8", "{line}");
            }
        }
    }

    #[test]
    fn what_looks_alike() {
        assert_eq!(to_ascii("├─ a │ └─ 5 µs"), "|- a | `- 5 us");
        assert_eq!(to_ascii("█▌ ▁▄█"), "## .:#");
        assert_eq!(to_ascii("héllo…"), "h\\u{e9}llo...");
        assert!(matches!(to_ascii("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn characters_that_come_in_pieces() {
        let lines = TerminalText::Lines { colors: false };
        // Each piece is one write.
        let encoded = |pieces: &[&[u8]], kind: TerminalText| {
            let mut encoder = CharsetWriter::new(Vec::new(), kind, true);
            for piece in pieces {
                assert_eq!(encoder.write(piece).unwrap(), piece.len());
            }
            String::from_utf8(encoder.finish().unwrap()).unwrap()
        };
        for (text, kind, expected) in [
            ("a é", lines, "a \\u{e9}"),
            ("\"é😀\"", TerminalText::Json, "\"\\u00e9\\ud83d\\ude00\""),
            ("é─😀│", lines, "\\u{e9}-\\u{1f600}|"),
        ] {
            for at in 0..=text.len() {
                let (first, rest) = text.as_bytes().split_at(at);
                assert_eq!(encoded(&[first, rest], kind), expected, "{at}");
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(encoded(&bytes, kind), expected);
        }
        // Also after invalid bytes.
        assert_eq!(encoded(&[b"\xff \xf0\x9f", b"\x98\x80"], lines), "\\u{fffd} \\u{1f600}");
        assert_eq!(encoded(&[b"\xc3\xc3", b"\xa9\x80"], lines), "\\u{fffd}\\u{e9}\\u{fffd}");
        assert_eq!(encoded(&[b"a\xe2\x82"], lines), "a\\u{fffd}");
        // Where all characters can be shown, nothing changes.
        let mut encoder = CharsetWriter::new(Vec::new(), lines, false);
        encoder.write_all("é".as_bytes()).unwrap();
        assert_eq!(encoder.finish().unwrap(), "é".as_bytes());
    }
}
