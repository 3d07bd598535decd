__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = __mul24(blockIdx.y, blockDim.y) + threadIdx.y;
    int col = __mul24(blockIdx.x, blockDim.x) + threadIdx.x;
    unsigned outside = (unsigned)(Width - 1 - row) >> 31 | (unsigned)(Width - 1 - col) >> 31;
    if (outside) return;
    float sum = 0.0f;
    for (int base = 0; base < Width; base += warpSize)
        for (int k = max(base, 0); k < min(base + warpSize, Width); ++k)
            sum = __fmaf_rn(M[row * Width + k], N[k * Width + col], sum);
    P[row * Width + col] = sum;
}
