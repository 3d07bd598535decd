struct Matrix {
    const float* data;
    int width;
    __device__ float operator()(int row, int col) const { return data[row * width + col]; }
};

__device__ float dot(const Matrix& a, const Matrix& b, int row, int col)
{
    float sum = 0.0f;
    for (int k = 0; k < a.width; ++k) sum += a(row, k) * b(k, col);
    return sum;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    Matrix m{M, Width}, n{N, Width};
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) P[row * Width + col] = dot(m, n, row, col);
}
