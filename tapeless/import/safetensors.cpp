// Reading and writing .safetensors files.
//
// A file is: u64 little-endian header length; header, JSON
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, "__metadata__":
//   {...}}
// padded with spaces; then the bytes of the tensors, which cover the rest of the file without
// holes.
#include "tapeless/import/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "tapeless/support/diagnostics.h"
#include "tapeless/support/file.h"

namespace tapeless {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxHeader = 100'000'000;
constexpr int64_t kMaxElements = int64_t{1} << 48;
constexpr size_t kDataAlignment = 64;

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kDTypeNames[] = {
    {DType::kF32, "F32"}, {DType::kF64, "F64"}, {DType::kBF16, "BF16"}, {DType::kF16, "F16"},
    {DType::kI32, "I32"}, {DType::kI64, "I64"}, {DType::kU8, "U8"},     {DType::kBool, "BOOL"},
};

const char* file_dtype(DType dtype, const std::string& tensor) {
  for (const DTypeName& entry : kDTypeNames)
    if (entry.dtype == dtype) return entry.name;
  data_error("safetensors has no dtype for {} of tensor `{}`", dtype_name(dtype), tensor);
}

// One tensor as the header describes it; begin and end count from the first byte after the header.
struct Entry {
  std::string name;
  DType dtype;
  Extents shape;
  size_t begin;
  size_t end;
};

class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), file_(std::make_shared<MappedFile>(path)) {}

  Safetensors read() {
    Json header = parse_header();
    for (const auto& [name, value] : header.items())
      if (name == "__metadata__")
        read_metadata(value);
      else
        entries_.push_back(entry(name, value));
    check_ranges();
    for (const Entry& e : entries_) result_.tensors.emplace(e.name, tensor(e));
    return std::move(result_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(fmt::format("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...)));
  }

  Json parse_header() {
    if (file_->size() < 8) fail("not a safetensors file: {} bytes", file_->size());
    uint64_t length = 0;
    std::memcpy(&length, file_->data(), 8);
    if (length > kMaxHeader) fail("not a safetensors file: a header of {} bytes", length);
    if (length > file_->size() - 8)
      fail("truncated: the header has {} bytes, the file {}", length, file_->size());
    data_ = file_->data() + 8 + length;
    data_size_ = file_->size() - 8 - length;
    std::string_view text = file_->text().substr(8, length);
    if (text.empty() || text[0] != '{') fail("not a safetensors file: the header is not JSON");
    std::set<std::string> seen;
    auto unique_names = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > 4) fail("the header is nested too deep");
      if (depth == 1 && event == Json::parse_event_t::key &&
          !seen.insert(value.get<std::string>()).second)
        fail("tensor `{}` occurs twice", value.get<std::string>());
      return true;
    };
    try {
      return Json::parse(text, unique_names);
    } catch (const Json::exception& error) {
      fail("the header is not valid JSON: {}", error.what());
    }
  }

  void read_metadata(const Json& value) {
    if (!value.is_object()) fail("__metadata__ is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("__metadata__ `{}` is not a string", key);
      result_.metadata.emplace(key, text.get<std::string>());
    }
  }

  Entry entry(const std::string& name, const Json& value) const {
    if (!value.is_object()) fail("tensor `{}` is not described by an object", name);
    for (const char* key : {"dtype", "shape", "data_offsets"})
      if (!value.contains(key)) fail("tensor `{}` has no {}", name, key);
    Entry e{name, dtype(name, value["dtype"]), {}, 0, 0};
    int64_t elements = 1;
    for (int64_t extent : naturals(name, "shape", value["shape"])) {
      if (extent != 0 && elements > kMaxElements / extent) fail("tensor `{}` is too large", name);
      elements *= extent;
      e.shape.push_back(extent);
    }
    std::vector<int64_t> offsets = naturals(name, "data_offsets", value["data_offsets"]);
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      fail("tensor `{}` has data_offsets that are not [begin, end]", name);
    e.begin = static_cast<size_t>(offsets[0]);
    e.end = static_cast<size_t>(offsets[1]);
    int64_t bytes = elements * dtype_size(e.dtype);
    if (offsets[1] - offsets[0] != bytes)
      fail("tensor `{}` has {} bytes of data, its dtype and shape need {}", name, e.end - e.begin,
           bytes);
    return e;
  }

  DType dtype(const std::string& name, const Json& value) const {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    for (const DTypeName& known : kDTypeNames)
      if (text == known.name) return known.dtype;
    fail("tensor `{}` has the unsupported dtype {}", name, text);
  }

  std::vector<int64_t> naturals(const std::string& name, const char* key, const Json& value) const {
    std::vector<int64_t> all;
    bool good = value.is_array() && value.size() <= 64;
    for (size_t i = 0; good && i < value.size(); ++i) {
      good = value[i].is_number_unsigned() && value[i].get<uint64_t>() <= kMaxElements * 8;
      if (good) all.push_back(value[i].get<int64_t>());
    }
    if (!good) fail("tensor `{}` has a {} that is not a list of sizes", name, key);
    return all;
  }

  // The tensors lie side by side and end where the file ends.
  void check_ranges() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    size_t covered = 0;
    for (const Entry& e : entries_) {
      if (e.begin < covered) fail("tensor `{}` overlaps the one before it", e.name);
      if (e.begin > covered) fail("bytes {} to {} belong to no tensor", covered, e.begin);
      covered = e.end;
    }
    if (covered > data_size_)
      fail("truncated: the tensors need {} bytes, the file has {}", covered, data_size_);
    if (covered < data_size_) fail("{} bytes follow the last tensor", data_size_ - covered);
  }

  Tensor tensor(const Entry& e) const {
    std::byte* at = data_ + e.begin;
    if (e.dtype == DType::kBool)
      for (size_t i = 0; i < e.end - e.begin; ++i)
        if (at[i] > std::byte{1}) fail("tensor `{}` holds a bool that is neither 0 nor 1", e.name);
    if (reinterpret_cast<uintptr_t>(at) % static_cast<size_t>(dtype_size(e.dtype)) == 0)
      return Tensor::view(e.dtype, e.shape, dense_strides(e.shape), at, file_);
    Tensor copy(e.dtype, e.shape);
    std::memcpy(copy.raw(), at, e.end - e.begin);
    return copy;
  }

  std::string path_;
  std::shared_ptr<MappedFile> file_;
  std::byte* data_ = nullptr;
  size_t data_size_ = 0;
  std::vector<Entry> entries_;
  Safetensors result_;
};

}  // namespace

Safetensors read_safetensors(const std::string& path) { return Reader(path).read(); }

void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<TensorMap::const_iterator> order;
  for (auto it = tensors.begin(); it != tensors.end(); ++it) order.push_back(it);
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) {
    return dtype_size(a->second.dtype()) > dtype_size(b->second.dtype());
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (auto it : order) {
    const auto& [name, tensor] = *it;
    if (name == "__metadata__") data_error("a tensor may not be named __metadata__");
    header[name] = {{"dtype", file_dtype(tensor.dtype(), name)},
                    {"shape", tensor.shape()},
                    {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kDataAlignment - (text.size() + 8) % kDataAlignment) % kDataAlignment, ' ');
  uint64_t length = text.size();
  AtomicFile file(path);
  file.write(&length, 8);
  file.write(text);
  for (auto it : order) {
    Tensor dense = it->second.dense();
    file.write(dense.raw(), static_cast<size_t>(dense.bytes()));
  }
  file.commit();
}

}  // namespace tapeless
