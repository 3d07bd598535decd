// block scope inc
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned c;
    __shared__ int slot[1024];
    if (threadIdx.x == 0) c = 0;
    __syncthreads();
    int t = atomicInc_block(&c, 1023u);
    slot[t] = threadIdx.x;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + slot[threadIdx.x];
    if (i < n) C[i] = A[i] + B[i];
}
