__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int bits;
    if (threadIdx.x == 0) bits = 0;
    __syncthreads();
    atomicOr(&bits, 1u << threadIdx.x % 32);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && bits == 0xffffffffu) C[i] = A[i] + B[i];
}
