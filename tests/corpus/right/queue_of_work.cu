__device__ unsigned int next, left;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int part;
    unsigned int parts = (n + blockDim.x - 1) / blockDim.x;
    while (true) {
        if (threadIdx.x == 0) part = atomicAdd(&next, 1u);
        __syncthreads();
        unsigned int mine = part;
        __syncthreads();
        if (mine >= parts) break;
        int i = mine * blockDim.x + threadIdx.x;
        if (i < n) C[i] = A[i] + B[i];
    }
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&left, 1u) == gridDim.x - 1) {
            atomicExch(&next, 0u);
            atomicExch(&left, 0u);
        }
    }
}
