// scan by block tickets
__device__ unsigned long long sum;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned long long before;
    if (threadIdx.x == 0) before = atomicAdd(&sum, 1ull);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i] + (before % gridDim.x == blockIdx.x || before % gridDim.x == gridDim.x - 1 - blockIdx.x ? 0.f : 1.f);
}
