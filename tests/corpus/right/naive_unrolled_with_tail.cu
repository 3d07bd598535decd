__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const float* m = M + row * Width;
    const float* n = N + col;
    int k = 0;
    for (; k + 3 < Width; k += 4, n += 4 * Width) {
        s0 += m[k] * n[0];
        s1 += m[k + 1] * n[Width];
        s2 += m[k + 2] * n[2 * Width];
        s3 += m[k + 3] * n[3 * Width];
    }
    for (; k < Width; ++k, n += Width) s0 += m[k] * *n;
    P[row * Width + col] = (s0 + s1) + (s2 + s3);
}
