// count of blocks started
__device__ unsigned started;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ unsigned s;
    if (threadIdx.x == 0) {
        atomicAdd(&started, 1u);
        s = atomicAdd(&started, 0u);   // "all have started by now"
    }
    __syncthreads();
    if (i < n) C[i] = s >= gridDim.x ? A[i] + B[i] : 0.0f;
}
