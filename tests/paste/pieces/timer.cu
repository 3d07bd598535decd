#include <vector>
#include <iostream>
using namespace std;

struct GpuTimer {
    cudaEvent_t start, stop;
    GpuTimer() { cudaEventCreate(&start); cudaEventCreate(&stop); }
    void Start() { cudaEventRecord(start, 0); }
};

template <typename T>
void print(const std::vector<T>& values) {
    for (const auto& each : values) std::cout << each << " ";
}

