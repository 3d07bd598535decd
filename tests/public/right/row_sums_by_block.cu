//!tilelab block=(64) grid=(Width)
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ float s[64];
    int tid = threadIdx.x;
    float mine = 0;
    for (int c = tid; c < Width; c += blockDim.x) mine += M[blockIdx.x * Width + c];
    s[tid] = mine;
    __syncthreads();
    for (int step = blockDim.x / 2; step; step /= 2) {
        if (tid < step) s[tid] += s[tid + step];
        __syncthreads();
    }
    if (tid == 0) Sums[blockIdx.x] = s[0];
}
