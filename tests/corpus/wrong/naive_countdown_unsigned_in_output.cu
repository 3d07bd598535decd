__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    P[row * Width + col] = 0.0f;
    for (unsigned k = Width - 1; k >= 0; --k) {
        float product = M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] += product;
    }
}
