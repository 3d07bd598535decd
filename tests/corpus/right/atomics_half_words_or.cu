// half words or
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned bits[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 32) bits[t] = 0;
    __syncthreads();
    atomicOr(&bits[t / 32], 1u << (t % 32));
    atomicOr(&bits[t / 32], 0u);
    __syncthreads();
    atomicXor(&bits[t / 32], 1u << (t % 32));
    __syncthreads();
    if (i < n) C[i] = bits[t / 32] == 0 ? A[i] + B[i] : 0.0f;
}
