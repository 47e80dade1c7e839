// The page of a run, and what it is made of.
#include "tapeless/train/report.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>

#include "tapeless/train/png.h"
#include "tapeless/train/svg_plot.h"

namespace tapeless {
namespace {

TEST(Report, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Report, PngHoldsThePixels) {
  Tensor pixels =
      Tensor::from<int>(DType::kU8, {2, 3}, std::vector<int>{0, 50, 100, 150, 200, 255});
  std::string png = encode_png(pixels);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  size_t data = png.find("IDAT");
  std::string raw(8, '\0');
  uLongf size = raw.size();
  ASSERT_EQ(
      uncompress(reinterpret_cast<Bytef*>(raw.data()), &size,
                 reinterpret_cast<const Bytef*>(png.data() + data + 4), png.size() - data - 8),
      Z_OK);
  EXPECT_EQ(raw, std::string("\0\0\x32\x64\0\x96\xc8\xff", 8));
  EXPECT_FALSE(encode_png(Tensor(DType::kU8, {3, 2, 2})).empty());
}

TEST(Report, TicksAreRound) {
  EXPECT_EQ(round_ticks(0, 1, 5), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  EXPECT_EQ(round_ticks(3, 3, 5), std::vector<double>{3});
  EXPECT_EQ(round_ticks(0, 4690, 6).size(), 5U);
}

TEST(Report, EmptyAndStrangeRuns) {
  EXPECT_NE(report_html({.title = "a <b> & \"c\""}).find("<h1>a &lt;b&gt; &amp; &quot;c&quot;"),
            std::string::npos);
  Report report{.title = "x"};
  report.history.steps = {{.step = 1, .loss = kAbsent}, {.step = 2, .loss = HUGE_VAL}};
  EXPECT_NE(report_html(report).find("no values"), std::string::npos);
  report.history.steps = {{.step = 1, .loss = 0}};
  EXPECT_EQ(report_html(report).find("nan"), std::string::npos);
}

// A run as long as a real one; REPORT_OUT=file keeps the page, to look at it.
TEST(Report, WholeRun) {
  Report report{.title = "cnn-bn"};
  report.facts = {{"test accuracy", "91.93 %"},
                  {"test loss", "0.2251"},
                  {"steps", "4690"},
                  {"time", "1:42"},
                  {"images a second", "9.1k"}};
  for (int64_t i = 1; i <= 4690; ++i) {
    double x = static_cast<double>(i);
    report.history.steps.push_back(
        {.step = i,
         .epoch = i / 938,
         .loss = 2.3 * std::exp(-x / 300) + 0.25 + 0.15 * std::sin(x * x),
         .lr = 0.05 * (1 + std::cos(3.14159 * x / 4690)),
         .items_per_s = 9000 + 300 * std::sin(x)});
    if (i % 938 == 0)
      for (const char* split : {"test", "validation"})
        report.history.evaluations.push_back({.split = split,
                                              .step = i,
                                              .epoch = i / 938 - 1,
                                              .loss = 0.2 + 150 / x,
                                              .accuracy = 0.92 - 80 / x});
  }
  for (int64_t i = 0; i < 10; ++i) report.class_names.push_back("class " + std::to_string(i));
  for (int64_t i = 0; i < 100; ++i) report.confusion.push_back(i % 11 == 0 ? 900 : i % 7 * 5);
  for (int64_t i = 0; i < 8; ++i) {
    Tensor image(DType::kU8, {28, 28});
    for (int64_t p = 0; p < 784; ++p) image.set_int(p, p * i % 256);
    report.wrong.push_back({image, 100 + i, i, 9 - i, 0.5 + 0.05 * static_cast<double>(i)});
  }
  report.recipe = "[model]\nkind = \"cnn\"\n";
  std::string html = report_html(report);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_LT(html.size(), 200'000U);
  EXPECT_NE(html.find("<td class=\"right\" style=\"--share:0.8"), std::string::npos);
  EXPECT_NE(html.find("data:image/png;base64,iVBOR"), std::string::npos);
  if (const char* out = std::getenv("REPORT_OUT")) write_report(out, report);
}

}  // namespace
}  // namespace tapeless
