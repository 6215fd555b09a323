
"use strict";
(function () {
  var width = document.documentElement.viewBox.baseVal.width;
  var reset = document.getElementById("reset");
  var found = document.getElementById("found");
  var frames = Array.prototype.map.call(document.querySelectorAll("#frames > g"), function (group) {
    var rect = group.querySelector("rect");
    var title = group.querySelector("title").textContent;
    var number = function (name) { return parseFloat(rect.getAttribute(name)); };
    return {
      group: group, rect: rect, text: group.querySelector("text"), x: number("x"), y: number("y"),
      width: number("width"), name: title.replace(/ \([^(]*\)$/, "")
    };
  });

  function shortened(name, width) {
    var room = Math.floor(Math.max(0, width - 6) / 7.3);
    return name.length <= room ? name : room < 3 ? "" : name.slice(0, room - 2) + "..";
  }

  // Shows a frame as wide as the picture, above those that called it.
  function zoom(to) {
    var scale = width / to.width;
    frames.forEach(function (frame) {
      var isWithin = frame.x >= to.x - 0.01 && frame.x + frame.width <= to.x + to.width + 0.01;
      var isAround = frame.y > to.y && frame.x <= to.x + 0.01 && frame.x + frame.width >= to.x + to.width - 0.01;
      var isShown = isAround || (isWithin && frame.y <= to.y);
      frame.group.classList.toggle("beside", !isShown);
      frame.group.classList.toggle("around", isAround);
      if (!isShown) { return; }
      var x = isAround ? 0 : (frame.x - to.x) * scale;
      var shown = isAround ? width : frame.width * scale;
      frame.rect.setAttribute("x", x);
      frame.rect.setAttribute("width", shown);
      frame.text.setAttribute("x", x + 3);
      frame.text.textContent = shortened(frame.name, shown);
    });
    reset.style.visibility = to === frames[0] ? "hidden" : "visible";
  }

  // Marks the frames whose names match, and says how much of all they are.
  function search(pattern) {
    var expression = null;
    if (pattern) {
      try { expression = new RegExp(pattern, "i"); } catch (error) { found.textContent = String(error.message); return; }
    }
    var ranges = [];
    frames.forEach(function (frame) {
      var matches = expression !== null && expression.test(frame.name);
      frame.group.classList.toggle("match", matches);
      if (matches) { ranges.push([frame.x, frame.x + frame.width]); }
    });
    ranges.sort(function (a, b) { return a[0] - b[0]; });
    var sum = 0, end = 0;
    ranges.forEach(function (range) {
      sum += Math.max(0, range[1] - Math.max(range[0], end));
      end = Math.max(end, range[1]);
    });
    found.textContent = expression ? "Matched: " + (100 * sum / width).toFixed(2) + " %" : "";
  }

  frames.forEach(function (frame) {
    frame.group.addEventListener("click", function () { zoom(frame); });
  });
  reset.addEventListener("click", function () { zoom(frames[0]); });
  function ask() {
    var pattern = window.prompt("Search (regular expression; nothing: no search)", "");
    if (pattern !== null) { search(pattern); }
  }
  document.getElementById("search").addEventListener("click", ask);
  window.addEventListener("keydown", function (event) {
    if (event.key === "/" || ((event.ctrlKey || event.metaKey) && event.key === "f")) {
      event.preventDefault();
      ask();
    }
  });
})();
