//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 16 + threadIdx.x;
    int from = blockIdx.z == 0 ? 0 : Width / 2;
    int to = blockIdx.z == 0 ? Width / 2 : Width;
    if (row < Width && col < Width) {
        float part = 0.0f;
        for (int k = from; k < to; k++)
            part += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = part;
    }
}
