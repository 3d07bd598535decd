__global__ void rowSums(float* M, float* Sums, int Width) {
    if (threadIdx.x != blockDim.x - 1) return;
    for (int r = blockIdx.x * blockDim.x; r < (blockIdx.x + 1) * blockDim.x; ++r) {
        Sums[r] = 0;
        for (int c = 0; c < Width; ++c) Sums[r] += M[r * Width + c];
    }
}
