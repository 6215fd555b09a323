// The line between timeline and panel, which is moved by the pointer or by arrow keys.

const LEAST = 90;
const STEP = 24;

export function listenToSplitter(handle: HTMLElement, panel: HTMLElement): void {
  const most = () => Math.max(LEAST, innerHeight - 220);
  const set = (height: number) => {
    const value = Math.round(Math.min(Math.max(height, LEAST), most()));
    panel.style.height = `${value}px`;
    handle.setAttribute("aria-valuemin", String(LEAST));
    handle.setAttribute("aria-valuemax", String(most()));
    handle.setAttribute("aria-valuenow", String(value));
  };
  let wanted = Math.min(Math.max(innerHeight * 0.38, 220), 700);
  set(wanted);
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    wanted = panel.getBoundingClientRect().bottom - event.clientY;
    set(wanted);
  });
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    wanted = panel.offsetHeight + by;
    set(wanted);
  });
  addEventListener("resize", () => set(wanted));
}
