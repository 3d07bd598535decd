__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float* out = nullptr;
    if (Width > 1024)
        out = P;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < Width && c < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k)
            s += M[r * Width + k] * N[k * Width + c];
        out[r * Width + c] = s;
    }
}
