// Line charts as SVG.
#include "tapeless/train/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapeless {

namespace {

constexpr double kWidth = 560, kHeight = 280;
constexpr double kLeft = 56, kRight = 16, kTop = 16, kBottom = 34;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool empty() const { return !(low <= high); }
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// Pixels of a value.
struct Scale {
  Range range;
  double from, to;
  double operator()(double value) const {
    double width = range.high - range.low;
    double share = width > 0 ? (value - range.low) / width : 0.5;
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

bool finite(const PlotPoint& p) { return std::isfinite(p.x) && std::isfinite(p.y); }

std::string polyline(const PlotSeries& series, const Scale& x, const Scale& y) {
  std::string points, markers;
  for (const PlotPoint& p : series.points) {
    if (!finite(p)) continue;
    points += fmt::format("{:.1f},{:.1f} ", x(p.x), y(p.y));
    if (series.markers)
      markers += fmt::format(R"(<circle class="m{}" cx="{:.1f}" cy="{:.1f}" r="3.5">)"
                             "<title>{}: {:.4g}</title></circle>",
                             series.colour, x(p.x), y(p.y), escape_html(series.name), p.y);
  }
  return fmt::format(R"(<polyline class="line s{}{}" points="{}"/>)", series.colour,
                     series.faint ? " faint" : "", points) +
         markers + "\n";
}

std::string axes(const Scale& x, const Scale& y, bool percent) {
  std::string out;
  for (double tick : round_ticks(y.range.low, y.range.high, 5)) {
    std::string label = percent ? fmt::format("{:.4g} %", 100 * tick) : fmt::format("{:.4g}", tick);
    out += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)"
                       R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                       kLeft, kWidth - kRight, y(tick), y(tick), kLeft - 8, y(tick) + 4, label);
  }
  for (double tick : round_ticks(x.range.low, x.range.high, 6))
    out += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{:.6g}</text>)",
                       x(tick), kHeight - 12, tick);
  return out + "\n";
}

std::string legend(const Plot& plot) {
  std::string out = R"(<p class="legend">)";
  for (const PlotSeries& series : plot.series)
    if (!series.faint)
      out += fmt::format(R"(<span class="key k{}"></span>{} )", series.colour,
                         escape_html(series.name));
  return out + "</p>";
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int about) {
  if (!(high > low)) return {low};
  double rough = (high - low) / about;
  double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough) step = factor * power;
  std::vector<double> ticks;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n)
    ticks.push_back(n == 0 ? 0 : n * step);
  return ticks;
}

std::string escape_html(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_plot(const Plot& plot) {
  Range x_range, y_range;
  for (const PlotSeries& series : plot.series)
    for (const PlotPoint& p : series.points) {
      if (!finite(p)) continue;
      x_range.add(p.x);
      if (!series.faint) y_range.add(p.y);
    }
  std::string head = fmt::format("<figure><figcaption>{}</figcaption>", escape_html(plot.title));
  if (x_range.empty() || y_range.empty())
    return head + "<p class=\"tick\">no values</p></figure>\n";
  double margin = y_range.high > y_range.low ? 0.06 * (y_range.high - y_range.low)
                                             : std::max(std::abs(y_range.high) * 0.1, 1e-6);
  bool above_zero = y_range.low >= 0;
  y_range.low = above_zero ? std::max(0.0, y_range.low - margin) : y_range.low - margin;
  y_range.high = plot.percent ? std::min(1.0, y_range.high + margin) : y_range.high + margin;
  Scale x{x_range, kLeft, kWidth - kRight};
  Scale y{y_range, kHeight - kBottom, kTop};
  std::string svg = head + fmt::format(R"(<svg viewBox="0 0 {} {}" role="img">)", kWidth, kHeight);
  svg += "<title>" + escape_html(plot.title) + "</title>\n" + axes(x, y, plot.percent);
  for (const PlotSeries& series : plot.series) svg += polyline(series, x, y);
  return svg + "</svg>" + (plot.series.size() > 1 ? legend(plot) : "") + "</figure>\n";
}

}  // namespace tapeless
