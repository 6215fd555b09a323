// Says what an article costs. EventPipe records its events; record.sh does it.
using System;
using System.Diagnostics.Tracing;

[EventSource(Name = "Shop-Prices")]
sealed class PriceEvents : EventSource
{
    public static readonly PriceEvents Log = new PriceEvents();

    [Event(1, Level = EventLevel.Informational)]
    public void Request(string traceparent, string article) { WriteEvent(1, traceparent, article); }

    [Event(2, Level = EventLevel.Informational)]
    public void ListRead(int prices) { WriteEvent(2, prices); }

    [Event(3, Level = EventLevel.Informational)]
    public void PriceFound(string article, int cents) { WriteEvent(3, article, cents); }
}

static class Prices
{
    static void Main(string[] arguments)
    {
        var article = arguments[0];
        // All events from here on are of one activity; only the first one says what that is for.
        EventSource.SetCurrentThreadActivityId(Guid.NewGuid());
        PriceEvents.Log.Request(Environment.GetEnvironmentVariable("TRACEPARENT") ?? "", article);
        string[] list = { "bread=480", "rolls=95", "cake=360" };
        PriceEvents.Log.ListRead(list.Length);
        foreach (var price in list)
        {
            var parts = price.Split('=');
            if (parts[0] != article) continue;
            PriceEvents.Log.PriceFound(article, int.Parse(parts[1]));
            Console.WriteLine("{0} cents each", parts[1]);
        }
        EventSource.SetCurrentThreadActivityId(Guid.Empty);
    }
}
