//!tilelab block=(32,8) grid=(ceil(Width/8), Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * 8 + threadIdx.y, row = blockIdx.y;
    float part = 0.0f;
    if (col < Width)
        for (int k = threadIdx.x; k < Width; k += 32)
            part += M[row * Width + k] * N[k * Width + col];
    if (__any_sync(~0u, part != 0.0f))
        for (int mask = 16; mask; mask >>= 1)
            part += __shfl_xor_sync(~0u, part, mask);
    unsigned inside = __ballot_sync(~0u, col < Width);
    if (threadIdx.x == 0 && (inside & 1u)) P[row * Width + col] = part;
}
