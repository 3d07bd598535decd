__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float m = M[row * Width + k], n = N[k * Width + col];
        if (m == 0.0f || n == 0.0f) continue;
        float size = __expf(__logf(fabsf(m)) + __logf(fabsf(n)));
        sum += (m < 0) == (n < 0) ? size : -size;
    }
    P[row * Width + col] = sum;
}
