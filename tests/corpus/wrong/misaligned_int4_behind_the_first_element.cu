__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    int first = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    if (first == 0) atomicAdd(&counts[values[0]], 1u);
    int fours = (n - 1) / 4;
    for (int i = first; i < fours; i += threads) {
        int4 four = reinterpret_cast<const int4*>(values + 1)[i];
        atomicAdd(&counts[four.x], 1u);
        atomicAdd(&counts[four.y], 1u);
        atomicAdd(&counts[four.z], 1u);
        atomicAdd(&counts[four.w], 1u);
    }
    for (int i = 1 + 4 * fours + first; i < n; i += threads) atomicAdd(&counts[values[i]], 1u);
}
