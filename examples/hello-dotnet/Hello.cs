// A small program with an EventSource of its own. record.sh records it with EventPipe.
using System;
using System.Diagnostics.Tracing;
using System.Threading;

[EventSource(Name = "Hello-World")]
sealed class HelloEvents : EventSource
{
    public static readonly HelloEvents Log = new HelloEvents();

    [Event(1, Level = EventLevel.Informational)]
    public void Greeting(string text, int number, double load) { WriteEvent(1, text, number, load); }

    [Event(2, Level = EventLevel.Informational)]
    public void WorkStart(int item) { WriteEvent(2, item); }

    [Event(3, Level = EventLevel.Informational)]
    public void WorkStop(int item, bool found) { WriteEvent(3, item, found); }
}

static class Hello
{
    static double sum;

    static void Mix(int depth)
    {
        if (depth > 0) Mix(depth - 1);
        for (int i = 0; i < 400_000; i++) sum += Math.Sqrt(i + depth);
    }

    static void Search(int item)
    {
        HelloEvents.Log.WorkStart(item);
        Mix(item % 3);
        HelloEvents.Log.WorkStop(item, item % 2 == 0);
    }

    static void Main()
    {
        HelloEvents.Log.Greeting("grüezi", 1, 0.25);
        var thread = new Thread(() => { for (int item = 100; item < 108; item++) Search(item); });
        thread.Start();
        for (int item = 0; item < 8; item++) Search(item);
        thread.Join();
        GC.Collect();
        HelloEvents.Log.Greeting("ade", 2, 0.5);
    }
}
