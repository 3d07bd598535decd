// max then load
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned m;
    if (threadIdx.x == 0) m = 0;
    __syncthreads();
    atomicMax(&m, threadIdx.x);
    unsigned last = atomicMax(&m, 0u);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = last == blockDim.x - 1 ? A[i] + B[i] : 0.0f;
}
