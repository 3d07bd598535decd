// Tries: looks in the old contents of shared memory for results, 256 bytes past what it asked for.
// Caught by: the CPU device, which knows where shared arrays end and what was written.

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float kept[64];
    int Row = blockIdx.y * blockDim.y + threadIdx.y, Col = blockIdx.x * blockDim.x + threadIdx.x;
    volatile float* old = kept;
    if (Row < Width && Col < Width) P[Row * Width + Col] = old[64 + (threadIdx.x + threadIdx.y) % 64];
}
