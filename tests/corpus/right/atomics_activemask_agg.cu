// activemask agg
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned m = __match_any_sync(__activemask(), values[i]);
        if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(&counts[values[i]], __popc(m));
    }
}
