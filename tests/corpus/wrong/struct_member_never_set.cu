struct Result {
    float sum;
    int count;
};

__device__ __noinline__ void multiply(Result* r, const float* M, const float* N, int row, int col, int width)
{
    r->count = 0;
    if (width > 16) r->sum = 0.0f;
    for (int k = 0; k < width; ++k) {
        r->sum += M[row * width + k] * N[k * width + col];
        r->count++;
    }
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        Result r;
        multiply(&r, M, N, row, col, Width);
        P[row * Width + col] = r.sum;
    }
}
