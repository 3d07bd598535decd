__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.x * blockDim.x + blockDim.x - 1 - threadIdx.x;
    if (i < n) atomicExch(&C[i], A[i]);
    __syncthreads();
    if (k < n) atomicAdd(&C[k], B[k]);
}
