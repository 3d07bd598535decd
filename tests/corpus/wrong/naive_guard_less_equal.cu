__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    const int r = threadIdx.y + blockDim.y * blockIdx.y;
    const int c = threadIdx.x + blockDim.x * blockIdx.x;
    if (r <= Width && c < Width) {
        float v = 0.f;
        for (int i = 0; i < Width; ++i) v += M[r * Width + i] * N[i * Width + c];
        P[r * Width + c] = v;
    }
}
