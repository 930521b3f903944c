// hnswlib behind a pipe: builds once, then answers "EF K" with recall and times, so that it can take turns with others.
//   hnswlib-driver BASE.f32 QUERIES.f32 N D NQ METRIC(l2|ip) GROUNDTRUTH.i32 M EF_CONSTRUCTION
#include <hnswlib/hnswlib.h>
#include <algorithm>
#include <ctime>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static double cpu() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
template <class T>
static std::vector<T> readAll(const char* path, size_t count) {
  std::vector<T> out(count);
  FILE* f = fopen(path, "rb");
  if (!f || fread(out.data(), sizeof(T), count, f) != count) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(f);
  return out;
}

int main(int, char** a) {
  const size_t n = atol(a[3]), d = atol(a[4]), nq = atol(a[5]);
  const auto base = readAll<float>(a[1], n * d), queries = readAll<float>(a[2], nq * d);
  const auto truth = readAll<int>(a[7], nq * 100);
  hnswlib::SpaceInterface<float>* space;
  if (!strcmp(a[6], "l2")) space = new hnswlib::L2Space(d);
  else space = new hnswlib::InnerProductSpace(d);
  hnswlib::HierarchicalNSW<float> index(space, n, atoi(a[8]), atoi(a[9]));
  double t = cpu();
  for (size_t i = 0; i < n; i++) {
    index.addPoint(base.data() + i * d, i);
    if ((i + 1) % 100000 == 0) fprintf(stderr, "hnswlib: %zu of %zu\n", i + 1, n);
  }
  const double built = cpu() - t;
  // Level 0 with vectors and labels, and the lists of the levels above.
  double bytes = (double)index.size_data_per_element_ * n;
  for (size_t i = 0; i < n; i++) bytes += index.element_levels_[i] * index.size_links_per_element_;
  printf("{\"build_cpu\":%f,\"bytes_per_row\":%.0f}\n", built, bytes / n);
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    size_t ef = 0, k = 0, hits = 0;
    if (sscanf(line, "%zu %zu", &ef, &k) != 2) return 1;
    index.setEf(ef);
    std::vector<hnswlib::labeltype> found(nq * k);
    const auto from = std::chrono::steady_clock::now();
    t = cpu();
    for (size_t i = 0; i < nq; i++) {
      auto answer = index.searchKnn(queries.data() + i * d, k);
      for (size_t j = 0; j < k && !answer.empty(); j++, answer.pop()) found[i * k + j] = answer.top().second;
    }
    const double used = cpu() - t;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    for (size_t i = 0; i < nq; i++)
      for (size_t j = 0; j < k; j++)
        hits += std::count(truth.data() + i * 100, truth.data() + i * 100 + k, (int)found[i * k + j]);
    printf("{\"recall\":%f,\"wall\":%f,\"cpu\":%f}\n", hits / (double(k) * nq), wall, used);
    fflush(stdout);
  }
}
