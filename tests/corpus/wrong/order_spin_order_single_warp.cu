// spin order single warp
// within a warp: lanes take their place by order of a shared list of two kinds of atomics, over 20,000 instructions
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int c[64];
    int t = threadIdx.x, w = t / 32, i = blockIdx.x * blockDim.x + t;
    unsigned x = t;
    for (int k = 0; k < 100; k++) x = x * 1664525u + 1013904223u;
    if (t % 32 == 0) c[w] = 0;
    __syncthreads();
    atomicAdd(&c[w], 1);
    int all = atomicMax(&c[w], 0);
    if (i < n) C[i] = (all == 32 || x == 17) ? A[i] + B[i] : 0;
}
