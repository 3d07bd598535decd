__device__ unsigned int ticket;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int mine;
    if (threadIdx.x == 0) mine = (0u - atomicSub(&ticket, 1u)) % gridDim.x;
    __syncthreads();
    int i = mine * blockDim.x + threadIdx.x;
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && k < n) C[i] = A[i] + B[k];
}
