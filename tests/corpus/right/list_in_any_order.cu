__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int list[1024];
    __shared__ unsigned int length;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) length = 0;
    __syncthreads();
    if (i < n) list[atomicAdd(&length, 1u)] = i;
    __syncthreads();
    if (threadIdx.x < length) {
        int k = list[threadIdx.x];
        C[k] = A[k] + B[k];
    }
}
