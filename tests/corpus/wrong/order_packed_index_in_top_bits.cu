// packed index in top bits
// (index << 48) | payload: last writer wins, and its index decides what the block does
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned long long key;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    atomicExch(&key, ((unsigned long long)(t / 32) << 48) | 7u);
    __syncthreads();
    if (i < n) C[i] = (key >> 48) < blockDim.x / 32 ? A[i] + B[i] : 0.0f;
}
