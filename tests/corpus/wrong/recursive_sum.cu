__device__ __noinline__ float dot(const float* M, const float* N, int Width, int k)
{
    if (k == Width)
        return 0.0f;
    float rest = dot(M, N + Width, Width, k + 1);
    return M[k] * N[0] + rest;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;
    if (Row < Width && Col < Width)
        P[Row * Width + Col] = dot(M + Row * Width, N + Col, Width, 0);
}
