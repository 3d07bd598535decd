// exch old
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int c;
    if (threadIdx.x == 0) c = -1;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int old = atomicExch(&c, (int)threadIdx.x);
    if (i < n) C[i] = old == (int)threadIdx.x - 1 ? A[i] + B[i] : 0;
}
