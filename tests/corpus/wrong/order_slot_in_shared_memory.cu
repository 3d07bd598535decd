__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float queue[1024];
    __shared__ unsigned int length;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) length = 0;
    __syncthreads();
    if (i < n) queue[atomicAdd(&length, 1u)] = A[i] + B[i];
    __syncthreads();
    if (i < n) C[i] = queue[threadIdx.x];
}
