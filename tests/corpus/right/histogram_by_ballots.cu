// Each warp counts each bin by a ballot over its 32 values, without atomics in shared memory.

__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    int lane = threadIdx.x % 32;
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int warps = gridDim.x * blockDim.x / 32;
    for (int base = warp * 32; base < n; base += warps * 32) {
        int bin = base + lane < n ? values[base + lane] : -1;
        for (int each = 0; each < bins; ++each) {
            unsigned int found = __ballot_sync(0xffffffffu, bin == each);
            if (lane == 0 && found != 0) atomicAdd(&counts[each], __popc(found));
        }
    }
}
