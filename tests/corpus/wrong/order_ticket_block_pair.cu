// ticket block pair
__device__ int ta, tb;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int x, y;
    if (threadIdx.x == 0) { x = atomicAdd(&ta, 1) % gridDim.x; }
    __syncthreads();
    if (threadIdx.x == 0) { y = atomicAdd(&tb, 1) % gridDim.x; }
    __syncthreads();
    int i = x * blockDim.x + threadIdx.x, j = y * blockDim.x + threadIdx.x;
    if (i < n && j < n) C[i] = A[j] + B[j];
}
