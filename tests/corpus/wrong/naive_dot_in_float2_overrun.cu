//!tilelab block=(8,16) grid=(ceil(Width/16), ceil(Width/16))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = 2 * (blockIdx.x * 8 + threadIdx.x);
    if (row >= Width || col >= Width) return;
    float left = 0.0f, right = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float m = M[row * Width + k];
        left += m * N[k * Width + col];
        right += m * N[k * Width + col + 1];
    }
    P[row * Width + col] = left;
    if (col + 1 < Width) P[row * Width + col + 1] = right;
}
