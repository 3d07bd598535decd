#define WARP (CHAR_BIT * (int)sizeof(int))
#define FREE UINT_MAX

__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ volatile unsigned int totals[32];
    int t = threadIdx.x, warp = t / WARP, before = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        int sum = start + t < n ? input[start + t] : 0;
        for (int step = 1; step < WARP; step *= 2) {
            int left = __shfl_up_sync(UINT_MAX, sum, step);
            if (t % WARP >= step) sum += left;
        }
        if (t < WARP) totals[t] = FREE;
        __syncthreads();
        if (t % WARP == WARP - 1) totals[warp] = sum + SHRT_MAX;
        __syncthreads();
        int all = before;
        for (int w = 0; w < WARP && totals[w] != FREE; ++w) {
            if (w < warp) sum += totals[w] - SHRT_MAX;
            all += totals[w] - SHRT_MAX;
        }
        if (start + t < n) output[start + t] = before + sum;
        before = all;
        __syncthreads();
    }
}
