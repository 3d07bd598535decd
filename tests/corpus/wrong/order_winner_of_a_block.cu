__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int leader;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicExch(&leader, threadIdx.x);
    __syncthreads();
    if (i < n) C[i] = A[i] + B[i] + (leader == blockDim.x - 1 ? 0.0f : 1.0f);
}
