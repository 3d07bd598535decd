__constant__ int order[4] = {2, 0, 3, 1};

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 4)
        for (int j = 0; j < 4; ++j) {
            int k = k0 + order[j];
            if (k < Width) sum += M[row * Width + k] * N[k * Width + col];
        }
    P[row * Width + col] = sum;
}
