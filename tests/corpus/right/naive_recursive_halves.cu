template <int Depth>
__device__ float dot(const float* m, const float* n, int from, int to, int width)
{
    if (to - from == 1) return m[from] * n[from * width];
    int middle = (from + to) / 2;
    return dot<Depth - 1>(m, n, from, middle, width) + dot<Depth - 1>(m, n, middle, to, width);
}

template <>
__device__ float dot<0>(const float* m, const float* n, int from, int to, int width)
{
    float sum = 0.0f;
    for (int k = from; k < to; ++k) sum += m[k] * n[k * width];
    return sum;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width)
        P[row * Width + col] = dot<3>(M + row * Width, N + col, 0, Width, Width);
}
