#pragma once

#include <string>
#include <vector>

namespace tapeless {

struct PlotPoint {
  double x = 0, y = 0;
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
  /// Which of the page's three colours.
  size_t colour = 0;
  /// Drawn thin and pale, behind the others, and does not set the range of y.
  bool faint = false;
  bool markers = false;
};

struct Plot {
  std::string title;
  std::vector<PlotSeries> series;
  bool percent = false;
};

/// A line chart as an <svg> element. Colours come from the page: classes s0 to s2 of lines, and the
/// variable --grid. Series are drawn in order.
std::string svg_plot(const Plot& plot);

/// Numbers with a round step that cover [low, high].
std::vector<double> round_ticks(double low, double high, int about);

/// `text` with &, <, > and quotes escaped.
std::string escape_html(const std::string& text);

}  // namespace tapeless
