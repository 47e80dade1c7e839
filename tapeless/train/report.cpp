// report.html: a run on one page.
#include "tapeless/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "tapeless/support/file.h"
#include "tapeless/train/png.h"
#include "tapeless/train/style.h"
#include "tapeless/train/svg_plot.h"

namespace tapeless {

namespace {

constexpr size_t kMaxPoints = 500;
constexpr size_t kMaxClasses = 40;

using Points = std::vector<PlotPoint>;

Points of_steps(const History& history, double StepEvent::* field) {
  Points points;
  for (const StepEvent& event : history.steps)
    if (std::isfinite(event.*field))
      points.push_back({static_cast<double>(event.step), event.*field});
  return points;
}

Points of_evaluations(const History& history, const std::string& split, double EvalEvent::* field) {
  Points points;
  for (const EvalEvent& event : history.evaluations)
    if (event.split == split && std::isfinite(event.*field))
      points.push_back({static_cast<double>(event.step), event.*field});
  return points;
}

// Means of equal runs of points.
Points thinned(const Points& points, size_t most) {
  if (points.size() <= most) return points;
  Points out;
  for (size_t i = 0; i < most; ++i) {
    size_t begin = points.size() * i / most, end = points.size() * (i + 1) / most;
    PlotPoint mean;
    for (size_t j = begin; j < end; ++j) {
      mean.x += points[j].x / static_cast<double>(end - begin);
      mean.y += points[j].y / static_cast<double>(end - begin);
    }
    out.push_back(mean);
  }
  return out;
}

// Each point becomes the mean of those around it, about a thirtieth of all.
Points smoothed(const Points& points) {
  size_t reach = points.size() / 60;
  Points out = points;
  for (size_t i = 0; i < points.size(); ++i) {
    size_t near = std::min({reach, i, points.size() - 1 - i});
    out[i].y = 0;
    for (size_t j = i - near; j <= i + near; ++j)
      out[i].y += points[j].y / static_cast<double>(2 * near + 1);
  }
  return out;
}

std::vector<std::string> splits(const History& history) {
  std::vector<std::string> names;
  for (const EvalEvent& event : history.evaluations)
    if (std::find(names.begin(), names.end(), event.split) == names.end())
      names.push_back(event.split);
  return names;
}

// The training curve has the first colour, evaluations the others.
void add_evaluations(Plot& plot, const History& history, double EvalEvent::* field) {
  size_t colour = 1;
  for (const std::string& split : splits(history)) {
    Points points = of_evaluations(history, split, field);
    if (points.empty()) continue;
    plot.series.push_back({.name = split, .points = points, .colour = colour, .markers = true});
    colour = 3 - colour;
  }
}

Plot loss_plot(const History& history) {
  Points steps = thinned(of_steps(history, &StepEvent::loss), kMaxPoints);
  Plot plot{"Loss",
            {{.name = "each step", .points = steps, .faint = true},
             {.name = "training", .points = smoothed(steps)}}};
  add_evaluations(plot, history, &EvalEvent::loss);
  return plot;
}

std::string plots(const History& history) {
  if (history.steps.empty() && history.evaluations.empty()) return "";
  std::string out = "<h2>Curves over steps</h2>\n<div class=\"plots\">\n";
  out += svg_plot(loss_plot(history));
  Plot accuracy{.title = "Accuracy", .percent = true};
  add_evaluations(accuracy, history, &EvalEvent::accuracy);
  if (!accuracy.series.empty()) out += svg_plot(accuracy);
  struct {
    const char* title;
    double StepEvent::* field;
    bool smooth;
  } const more[] = {{"Learning rate", &StepEvent::lr, false},
                    {"Gradient norm", &StepEvent::grad_norm, true},
                    {"Items a second", &StepEvent::items_per_s, true}};
  for (const auto& [title, field, smooth] : more) {
    Points points = thinned(of_steps(history, field), kMaxPoints);
    if (!points.empty())
      out += svg_plot({title, {{.name = title, .points = smooth ? smoothed(points) : points}}});
  }
  return out + "</div>\n";
}

std::string facts(const Report& report) {
  std::string out = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : report.facts)
    out +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value));
  return out + "</dl>\n";
}

std::string confusion_row(const Report& report, size_t label, std::span<const int64_t> row) {
  int64_t total = 0;
  for (int64_t count : row) total += count;
  std::string out = fmt::format("<tr><th>{}</th>", escape_html(report.class_names[label]));
  for (size_t predicted = 0; predicted < row.size(); ++predicted) {
    double share =
        total == 0 ? 0 : static_cast<double>(row[predicted]) / static_cast<double>(total);
    const char* kind = predicted == label ? "right" : row[predicted] > 0 ? "wrong" : "none";
    out +=
        fmt::format("<td class=\"{}\" style=\"--share:{:.3f}\" title=\"{} taken for {}\">{}</td>",
                    kind, share, escape_html(report.class_names[label]),
                    escape_html(report.class_names[predicted]), row[predicted]);
  }
  double recall =
      total == 0 ? 0 : 100 * static_cast<double>(row[label]) / static_cast<double>(total);
  return out + fmt::format("<th>{:.1f} %</th></tr>\n", recall);
}

std::string confusion(const Report& report) {
  size_t classes = report.class_names.size();
  if (report.confusion.empty() || classes > kMaxClasses) return "";
  TL_CHECK(report.confusion.size() == classes * classes);
  std::string out =
      "<h2>Confusion: label down, prediction across</h2>\n<div class=\"scroll\"><table>\n"
      "<thead><tr><th></th>";
  for (const std::string& name : report.class_names) out += "<th>" + escape_html(name) + "</th>";
  out += "<th>found</th></tr></thead>\n<tbody>\n";
  for (size_t label = 0; label < classes; ++label)
    out += confusion_row(report, label, {report.confusion.data() + label * classes, classes});
  return out + "</tbody></table></div>\n";
}

std::string class_name(const Report& report, int64_t index) {
  auto i = static_cast<size_t>(index);
  return i < report.class_names.size() ? report.class_names[i] : std::to_string(index);
}

std::string wrong_images(const Report& report) {
  if (report.wrong.empty()) return "";
  std::string out = "<h2>Taken for something else</h2>\n<div class=\"wrongs\">\n";
  for (const WrongImage& image : report.wrong)
    out += fmt::format(
        "<figure><img alt=\"row {}\" src=\"data:image/png;base64,{}\"><b>{}</b>"
        "<span>is {}; {:.0f} % sure, row {}</span></figure>\n",
        image.row, base64(encode_png(image.pixels)),
        escape_html(class_name(report, image.predicted)),
        escape_html(class_name(report, image.label)), 100 * image.confidence, image.row);
  return out + "</div>\n";
}

}  // namespace

std::string report_html(const Report& report) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>\n{1}"
      "</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escape_html(report.title), style()[0].text);
  out += facts(report) + plots(report.history) + confusion(report) + wrong_images(report);
  if (!report.recipe.empty())
    out += "<details><summary>Recipe</summary><pre>" + escape_html(report.recipe) +
           "</pre></details>\n";
  return out + "</body>\n</html>\n";
}

void write_report(const std::string& path, const Report& report) {
  write_file(path, report_html(report));
}

}  // namespace tapeless
