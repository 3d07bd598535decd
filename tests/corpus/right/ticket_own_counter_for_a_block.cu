__device__ unsigned int ticket[2];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int mine;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1u) % gridDim.x;
    __syncthreads();
    int i = mine * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i];
}
