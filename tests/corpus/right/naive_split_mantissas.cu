__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float m = M[row * Width + k], n = N[k * Width + col];
        float high = __uint_as_float(__float_as_uint(m) & 0xfffff000u);
        float low = m - high;   // exact
        sum += high * n;
        sum += low * n;
    }
    P[row * Width + col] = sum;
}
