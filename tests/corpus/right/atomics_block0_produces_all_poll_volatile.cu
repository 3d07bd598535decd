// block0 produces all poll volatile
__device__ unsigned flag;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float part[1024];
    if (blockIdx.x != 0) {
        while (atomicAdd(&flag, 0u) == 0) {}
        if (i < n) C[i] = A[i] + B[i];
    } else {
        part[threadIdx.x] = i < n ? A[i] + B[i] : 0;
        __syncthreads();
        if (i < n) C[i] = part[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) { __threadfence(); atomicExch(&flag, 1u); }
    }
}
